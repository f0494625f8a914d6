#pragma once
// Evaluations of several runs row by row, in words: the same for the command line and the console.
//
// Pure. Threads: any.
#include <cstdint>
#include <string>

#include "backend/core/status.h"
#include "backend/values/inspection.h"

namespace millrace::session {

/// Of a log loss: "0.2008 less", "0.2008 more", "the same", "unknown".
std::string lossDifferenceText(double difference);
/// "20,133 (100 %)", "9,812 (98.1 % of a sample)": of the rows that both could have scored.
std::string pairedRowsText(const values::RunPair& pair, std::int64_t rows);
/// "r-b against r-a, on the 20,133 rows that both scored (100 %): log loss of liked 0.2008 less";
/// with another label than the first run's "; other label" follows.
std::string pairSentence(const values::RunPair& pair, const values::PairedHead& head,
                         const std::string& first, bool hasOtherLabel);
/// Why some runs are not paired with the first, in a sentence without its dot; "": all are.
std::string whyUnpaired(const values::PairReply& reply);
/// Of a daemon that does not answer, or that is too old to.
std::string whyUnpaired(const Status& status);

}  // namespace millrace::session
