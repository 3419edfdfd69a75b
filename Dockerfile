# kng for an ordinary user on a read-only file system:
#
#   docker build -t kng .
#   docker run --rm --read-only --tmpfs /tmp --network none -v "$PWD:/data" kng median visits.csv \
#       --column spending --bounds 0:5000 --epsilon 0.5 --ledger visits.ledger
#
# /data must be writable for user 10001 where a ledger or a receipt is written: give --user "$(id -u)"
# to be yourself there. Nothing else is written but /tmp, which may be left out for plain releases.

FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/kng && /opt/kng/bin/pip install --no-cache-dir '.[postgres]'

FROM python:3.12-slim
COPY --from=build /opt/kng /opt/kng
# Compiled code is kept in /tmp while the container lives; without /tmp it is compiled in memory.
ENV PATH=/opt/kng/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/tmp/kng-compiled
USER 10001:10001
WORKDIR /data
ENTRYPOINT ["kng"]
CMD ["--help"]
