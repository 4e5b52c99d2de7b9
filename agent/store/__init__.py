"""The session database: ``Store`` is its only public face, the other modules are its parts.

``database`` and ``database_file`` open the file, ``migrations`` bring it up to date, ``codec``
converts records to JSON. ``queries``, ``writes``, ``listing``, ``search`` and ``stats`` are plain
functions on a connection. ``write_behind`` writes parts that still grow, ``lease`` says which
process runs a turn, ``recovery`` and ``background_reports`` end what a crashed process left open.
"""
