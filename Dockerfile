# Builds the server into a virtual environment, then copies that and nothing else.
FROM python:3.11-slim-bookworm AS build
WORKDIR /source
# For a cluster: --build-arg EXTRAS=[cassandra]
ARG EXTRAS=
COPY pyproject.toml setup.py README.md LICENSE ./
COPY src src
RUN python -m venv --without-pip /opt/hashrange \
    && python -m pip --python /opt/hashrange/bin/python install --no-cache-dir ".$EXTRAS"

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin hashrange \
    && install --directory --owner=hashrange --group=hashrange /var/lib/hashrange
COPY --from=build /opt/hashrange /opt/hashrange
ENV PATH=/opt/hashrange/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HASHRANGE_HOST=0.0.0.0 \
    HASHRANGE_PORT=8000 \
    HASHRANGE_DATA_DIR=/var/lib/hashrange/data
USER 10001
VOLUME /var/lib/hashrange
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:%s/readyz' % os.environ['HASHRANGE_PORT'], timeout=2)"]
ENTRYPOINT ["hashrange"]
CMD ["serve"]
