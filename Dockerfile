# The command in a small image: docker build -t loadpath . && docker run --rm loadpath --help
# Files: docker run --rm -v "$PWD:/data" loadpath simulate page.json

FROM rust:1-bookworm AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /venv && /venv/bin/pip install --quiet 'maturin>=1.9.4,<2'
WORKDIR /src
COPY . .
RUN /venv/bin/maturin build --release --locked --out /dist

FROM python:3.13-slim-bookworm
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends iproute2 \
    && rm -rf /var/lib/apt/lists/*
RUN --mount=type=bind,from=build,source=/dist,target=/dist \
    pip install --quiet --no-cache-dir /dist/*.whl \
    && useradd --create-home loadpath
USER loadpath
WORKDIR /data
ENTRYPOINT ["loadpath"]
