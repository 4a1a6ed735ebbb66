"""Dashboard: web pages to inspect, search, correct and administer the stored memories.

`server.middleware` routes requests, authenticates them and loads NiceGUI with the first dashboard request.
`server.nicegui_setup` configures NiceGUI and imports the pages. A page calls operations through its `PageContext`, on
behalf of the user who opened it. Behaviour is decided in operations and policy, never here.
"""
