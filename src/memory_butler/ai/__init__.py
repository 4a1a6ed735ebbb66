"""The models: embedding, reranking, distillers, token counting."""

import os

# Both libraries read their variable at import, and both would send usage data without it: ONNX Runtime keeps an id of
# the machine in the user's cache, huggingface_hub describes the calling program.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
