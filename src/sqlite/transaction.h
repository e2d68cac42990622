// Transactions as scopes: rolled back at the end of the scope unless committed.
#pragma once

#include "sqlite/session.h"

namespace pawl::sqlite {

// Takes the write lock immediately (begin immediate): a transaction that first reads and then
// writes could be refused because of writes in between.
class WriteTransaction {
public:
    explicit WriteTransaction(Session& session);
    WriteTransaction(const WriteTransaction&) = delete;
    WriteTransaction& operator=(const WriteTransaction&) = delete;
    ~WriteTransaction();
    // Durable on return. The error has in_doubt() if the disk failed during the commit.
    void commit();

private:
    Session& session_;
};

// One snapshot for several reads; takes no lock that blocks a writer.
class ReadTransaction {
public:
    explicit ReadTransaction(Session& session);
    ReadTransaction(const ReadTransaction&) = delete;
    ReadTransaction& operator=(const ReadTransaction&) = delete;
    ~ReadTransaction();

private:
    Session& session_;
};

// A part of a transaction that may fail alone.
class Savepoint {
public:
    explicit Savepoint(Session& session);
    Savepoint(const Savepoint&) = delete;
    Savepoint& operator=(const Savepoint&) = delete;
    ~Savepoint();
    void release();

private:
    Session& session_;
    bool open_ = true;
};

}  // namespace pawl::sqlite
