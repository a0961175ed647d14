# The course's tools in a container, for systems other than Debian and Ubuntu; on x86-64 and on 64-bit ARM:
#   docker build -t kernels .
#   docker buildx build --platform linux/amd64,linux/arm64 -t REGISTRY/kernels --push .
#   docker run --rm -it -v "$PWD":/course -w /course kernels
# For a GPU: --build-arg BASE=nvidia/cuda:12.8.1-devel-ubuntu24.04, and `docker run --gpus all …`.
ARG BASE=debian:12-slim
FROM ${BASE}
ENV CI=true DEBIAN_FRONTEND=noninteractive
COPY tools/install.sh tools/progress /usr/local/share/course/
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git make \
    && sh /usr/local/share/course/install.sh build \
    && sh /usr/local/share/course/install.sh test \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /course
CMD ["bash"]
