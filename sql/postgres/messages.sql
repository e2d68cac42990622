-- Live messages and the archive.

-- call: list_messages -> message
-- call: list_archive -> archived
-- call: replay
-- call: purge_archive
