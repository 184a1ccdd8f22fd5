"""What the black-box tests share: starting servers and talking to them byte for byte."""
