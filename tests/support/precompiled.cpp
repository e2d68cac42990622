// Nothing: of its target only the precompiled headers are used.
