#pragma once
// The nodes of a program that evaluate an operand only for the rows that need it. Private to eval.
//
// Threads: one. Failure: that of the operands.
#include <cstdint>

#include "backend/eval/program_run.h"

namespace millrace::eval {

class Branches {
 public:
    explicit Branches(ProgramRun& run) : run_(run), isa_(run.isa()) {}
    Result<Values> logic(ProgramRun::Frame& frame, int id);
    Result<Values> caseWhen(ProgramRun::Frame& frame, int id);
    Result<Values> coalesce(ProgramRun::Frame& frame, int id);

 private:
    Result<Values> caseByArrow(ProgramRun::Frame& frame, int id);
    Result<Values> filledByArrow(ProgramRun::Frame& frame, int id, std::size_t child,
                                 const Values& some);
    Result<Values> evalWhere(ProgramRun::Frame& frame, int id, const std::uint8_t* wanted);
    Result<Values> evalSome(ProgramRun::Frame& frame, int id, const std::uint8_t* wanted,
                            std::int64_t count);

    ProgramRun& run_;
    const Isa isa_;
};

}  // namespace millrace::eval
