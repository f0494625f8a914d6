#include "app/session/words.h"

#include "backend/core/status.h"

namespace millrace::session {
namespace {

constexpr const Word* kWords[] = {
    &word::kRun,         &word::kUid,      &word::kName,        &word::kVariation,
    &word::kState,       &word::kReason,   &word::kOwner,       &word::kProject,
    &word::kTags,        &word::kNote,     &word::kModel,       &word::kDataset,
    &word::kNode,        &word::kCreated,  &word::kStarted,     &word::kEnded,
    &word::kDeleted,     &word::kDuration, &word::kTimeLeft,    &word::kAttempt,
    &word::kRestarts,    &word::kProgress, &word::kStep,        &word::kEpoch,
    &word::kRate,        &word::kStall,    &word::kRowsScanned, &word::kRowsPruned,
    &word::kRowsRead,    &word::kRowsKept, &word::kRowsTrained, &word::kSpecHash,
    &word::kStreamHash,  &word::kPlanHash, &word::kOrderHash,   &word::kEvaluationHash,
    &word::kWeightsHash, &word::kCpu,      &word::kMemory,      &word::kGpu,
    &word::kCores,       &word::kMetric,   &word::kNewest,      &word::kBest,
    &word::kWritten,     &word::kSize,     &word::kPath,        &word::kColumn,
    &word::kType,        &word::kNulls,    &word::kOnDisk,      &word::kDecoded,
    &word::kMin,         &word::kMax,      &word::kEncoding,    &word::kCodec};

const char* formatWord(WordFormat format) {
    switch (format) {
        case WordFormat::kText:
            break;
        case WordFormat::kCount:
            return "241,683";
        case WordFormat::kFigure:
            return "0.7934, 1.05 M";
        case WordFormat::kPercent:
            return "36 %, 3.4 %, 0 %";
        case WordFormat::kBytes:
            return "1.2 GB";
        case WordFormat::kDuration:
            return "5.0 s, 3 m 20 s, 2 h 05 m";
        case WordFormat::kTime:
            return "local time, or an age";
        case WordFormat::kHash:
            return "12 hexadecimal digits or more";
    }
    return "text";
}

}  // namespace

std::span<const Word* const> words() {
    return kWords;
}

std::string wordTable() {
    std::string page =
        "| key | heading | name | unit | written as | what |\n|---|---|---|---|---|---|\n";
    for (const Word* one : kWords) {
        strAppend(&page, "| `", one->key, "` | ", one->heading, " | ", one->label, " | ", one->unit,
                  " | ", formatWord(one->format), " | ", one->what, " |\n");
    }
    return page;
}

}  // namespace millrace::session
