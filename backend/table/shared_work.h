#pragma once
// Work in pieces that is open to whoever has time: its owner leaves it to the threads that make
// what it is done to, which do a piece before they make more.
//
// Threads: any. Failure: the owner's to tell, at a later call of his.
namespace millrace::table {

class SharedWork {
 public:
    virtual ~SharedWork() = default;
    /// Does a piece on the calling thread; false: none is open.
    virtual bool doPiece() = 0;
    /// doPiece() would find one. Takes no lock.
    virtual bool isOpen() const = 0;
};

}  // namespace millrace::table
