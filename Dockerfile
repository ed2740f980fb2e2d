# An image with PyTorch and Weir, made from this tree; docs/how-to/containers.md says how to use it.
#
#   docker build -t weir:1 .

# Debian 12 or Ubuntu 24.04. One that has nvcc, of CUDA 12.4 or newer, also gives libweir_cuda.so.
ARG BASE=debian:12-slim

FROM ${BASE} AS build
WORKDIR /weir
COPY scripts scripts
RUN scripts/setup --for wheel
COPY . .
RUN scripts/wheel
RUN mkdir -p dist/gpu; \
    if command -v nvcc; then scripts/build cuda -- weir_cuda && cp build/cuda/lib/libweir_cuda.so* dist/gpu/; fi

FROM ${BASE}
# PyPI's PyTorch runs with and without GPUs. TORCH_INDEX is the address of another index, such as PyTorch's
# own of builds for CPUs alone, which are much smaller.
ARG TORCH=torch==2.15.0
ARG TORCH_INDEX=
ENV PATH=/opt/weir/bin:$PATH PYTHONUNBUFFERED=1
# hadolint ignore=DL3008
RUN apt-get update && \
    apt-get install -y --no-install-recommends python3-venv && \
    rm -rf /var/lib/apt/lists/* && \
    python3 -m venv /opt/weir && \
    useradd --create-home --uid 10000 weir
# hadolint ignore=DL3013
RUN pip install --no-cache-dir ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "$TORCH" && \
    pip install --no-cache-dir numpy==2.4.6 scikit-learn==1.9.1
RUN --mount=type=bind,from=build,source=/weir/dist,target=/dist \
    pip install --no-cache-dir /dist/weir-*.whl && \
    cp --recursive /dist/gpu/. "$(python -c 'import weir; print(weir.__path__[0])')"

WORKDIR /home/weir
COPY examples/02-digits examples/02-digits
# A number, so that Kubernetes can see that it is not root's.
USER 10000
CMD ["weirrun", "--check-build"]
