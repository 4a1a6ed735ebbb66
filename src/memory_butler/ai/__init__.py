"""The embedding model and the token counter."""

import os

# ONNX Runtime reports home and keeps an id of the machine in the user's cache unless told not to before it is imported.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
