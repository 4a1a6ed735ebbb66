"""The pages for people: see, search, correct and govern what is remembered.

`front` decides which requests are the dashboard's and who is asking; nothing of NiceGUI is loaded before the first of
them comes. `running` loads it and the pages; a page asks operations through its `Visitor`, in the name of the person
who looks at it, and shows what they say. Nothing is decided here.
"""
