#pragma once
// Row by row comparisons of evaluations as sentences, for the command line and the console.
//
// Pure. Threads: any.
#include <cstdint>
#include <string>

#include "backend/core/status.h"
#include "backend/values/inspection.h"

namespace millrace::session {

/// For a log loss: "0.2008 less", "0.2008 more", "the same", "unknown".
std::string lossDifferenceText(double difference);
/// "20,133 (100 %)", "9,812 (98.1 % of a sample)": the share of the rows that both could have
/// scored.
std::string pairedRowsText(const values::RunPair& pair, std::int64_t rows);
/// "r-b against r-a, on the 20,133 rows that both scored (100 %): log loss of liked 0.2008 less";
/// "; other label" follows if its label is not that of the first run.
std::string pairSentence(const values::RunPair& pair, const values::PairedHead& head,
                         const std::string& first, bool hasOtherLabel);
/// Why some runs are not paired with the first, as a sentence without its full stop; "" if all are.
std::string whyUnpaired(const values::PairReply& reply);
/// For a daemon that does not answer, or that is too old for this request.
std::string whyUnpaired(const Status& status);

}  // namespace millrace::session
