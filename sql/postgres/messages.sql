-- Live messages and the archive.

-- call: list_messages
-- call: list_archive
-- call: replay
-- call: purge_archive
