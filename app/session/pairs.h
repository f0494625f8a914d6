#pragma once
// Row by row comparisons of evaluations as sentences, for the command line and the console.
//
// Pure. Threads: any.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/values/inspection.h"
#include "backend/values/run_summary.h"

namespace millrace::session {

/// For a log loss: "0.2008 less", "0.2008 more", "the same", "unknown".
std::string lossDifferenceText(double difference);
/// "20,133 (100 %)", "9,812 (98.1 % of a sample)": the share of the rows that both could have
/// scored.
std::string pairedRowsText(const values::RunPair& pair, std::int64_t rows);
/// The head's rows as a share of the rows with a label of the run that has more. An older daemon
/// reports only the share of all rows.
double shareOf(const values::RunPair& pair, const values::PairedHead& head);
/// "r-b against r-a, on the 20,133 rows that both scored (100 %): log loss of liked 0.2008 less".
/// "; other label" follows if its label is not that of the first run.
std::string pairSentence(const values::RunPair& pair, const values::PairedHead& head,
                         const std::string& first, bool hasOtherLabel);
/// Why some runs are not paired with the first, as a sentence without its full stop; "" if all are.
std::string whyUnpaired(const values::PairReply& reply);
/// For a daemon that does not answer, or that is too old for this request.
std::string whyUnpaired(const Status& status);

/// Whether a run was evaluated on files of other content than the first run, or trained on other
/// files. Nothing if that is not known.
struct FilesApart {
    std::optional<bool> evaluation, training;
};
/// `pair`: null if the daemon did not pair them. Equal plan hashes mean equal files.
FilesApart filesApart(const values::RunPair* pair, const values::RunSummary& first,
                      const values::RunSummary& run);
/// The pair of a run; null if there is none.
const values::RunPair* findPair(const values::PairReply& reply, const std::string& run);

/// "log.csv was rewritten between the runs: r-a of 2026-11-29 01:30 read 2.5 MB (c4eccae9d5de),
/// r-b of 2026-11-30 01:31 read 2.5 MB (34faca5bf014)". One sentence per file, without its full
/// stop.
std::vector<std::string> fileSentences(const values::RunPair& pair, const values::RunSummary& first,
                                       const values::RunSummary& run);

}  // namespace millrace::session
