"""Registration of the server in the configuration files of MCP clients: previewed first, and exactly reversible."""
