#pragma once
// Work in pieces that any idle thread can do: its owner leaves it to the threads that produce its
// input, which do a piece before they produce more.
//
// Threads: any. Failure: the owner reports it at a later call.
namespace millrace::table {

class SharedWork {
 public:
    virtual ~SharedWork() = default;
    /// Does a piece on the calling thread; returns false if none is open.
    virtual bool doPiece() = 0;
    /// Whether doPiece() would find a piece. Takes no lock.
    virtual bool isOpen() const = 0;
};

}  // namespace millrace::table
