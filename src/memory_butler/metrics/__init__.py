"""What every process measures about itself, as Prometheus metrics. No label identifies a caller or a memory."""
