"""Several front ends on one faulty cluster: what must hold whatever goes wrong."""
