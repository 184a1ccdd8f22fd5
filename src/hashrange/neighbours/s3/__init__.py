"""A small S3: the folder of buckets, on the port of the database."""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.neighbours.service import Handler, Service
from hashrange.objects.folder import FolderStore


def s3_service(store: FolderStore) -> Service:
    """Return the service; its operations are imported when it is first called."""

    def handlers() -> Mapping[str, Handler]:
        from hashrange.neighbours.s3.buckets import Buckets
        from hashrange.neighbours.s3.objects import Objects
        from hashrange.neighbours.s3.uploads import Uploads

        return {
            **Buckets(store).operations(),
            **Objects(store).operations(),
            **Uploads(store).operations(),
        }

    return Service("s3", handlers, api_version="2006-03-01", rest="rest-xml")
