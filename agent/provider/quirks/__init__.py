"""The quirks of providers: changes to a request that only some of them need.

``table`` lists the rules that say where each quirk applies. A quirk is a small pure function of a
request, or of the body made from it; its docstring names the failure that it prevents. The modules
group the quirks by subject.
"""
