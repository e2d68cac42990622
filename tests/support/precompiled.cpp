// Empty: only the precompiled headers of its target are used.
