#pragma once
// What a daemon tells its clients: backend/values by the names of this room, and metrics.
//
// Times are UTC ms since 1970, 0 where it has not happened; steps count from 1, epochs from 0; an
// optional that is empty is unknown, never zero.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/values/daemon_facts.h"
#include "backend/values/inspection.h"
#include "backend/values/log_line.h"
#include "backend/values/metric_line.h"
#include "backend/values/node.h"
#include "backend/values/run_detail.h"
#include "backend/values/run_list.h"
#include "backend/values/submit.h"

namespace millrace::client {

using values::CheckedRun;
using values::Checkpoint;
using values::CheckReply;
using values::CheckRequest;
using values::ColumnFacts;
using values::DaemonStatus;
using values::DatasetFile;
using values::DatasetReply;
using values::DatasetRequest;
using values::DownReport;
using values::Estimate;
using values::FileReceipt;
using values::FilterCheck;
using values::GitFacts;
using values::GpuInfo;
using values::GpuSample;
using values::Handshake;
using values::isEnded;
using values::kFromLast;
using values::kFromStart;
using values::kSpecBytesMax;
using values::LargeDocument;
using values::LeftOutColumn;
using values::ListRequest;
using values::LogChunk;
using values::LogLevel;
using values::LogLine;
using values::LogsRequest;
using values::nameOf;
using values::NodeInfo;
using values::NodeSample;
using values::Phase;
using values::PreviewHead;
using values::PreviewReply;
using values::PreviewRequest;
using values::ProcessSample;
using values::Progress;
using values::Receipt;
using values::RemovedRun;
using values::RowGroupFacts;
using values::RunDetail;
using values::RunEvent;
using values::RunPage;
using values::RunState;
using values::RunSummary;
using values::RunUpdate;
using values::RunView;
using values::SampleColumn;
using values::SampleStage;
using values::SpecError;
using values::SpecSource;
using values::StepReason;
using values::StepReceipt;
using values::StepsReply;
using values::StepsRequest;
using values::StoreCheck;
using values::SubmitReply;
using values::SubmitRequest;
using values::VocabularyReceipt;
using values::WorkerInfo;
using MetricPoint = values::RunFigure;

struct MetricRangeRequest {
    std::string run;
    std::vector<std::string> names;
    std::int64_t fromStep = 0, toStep = 0;
    int maxPoints = 0;
    bool withSystem = false;     ///< without names: also "system.*"
    int rank = values::kNoRank;  ///< only what this rank measured; kNoRank: the run's, all ranks'
};
struct MetricSeries {
    std::string name;
    std::vector<std::int64_t> steps, timesMs;
    std::vector<double> values;
    bool isDecimated = false;  ///< the least and greatest points of each bucket only
    std::uint64_t pointsTotal = 0;
    std::vector<std::int64_t> rows;  ///< trained so far, one a point
    std::string problem;             ///< one sentence when stored points are damaged; "" else
    /// Where ranks differ, one a point: `values` are medians then. Else empty.
    std::vector<std::optional<values::RankSpread>> ranks;
    values::MetricCursor cursor;  ///< behind all of the run's that was stored then
};

/// A run's lines of metrics behind a cursor, and those that come.
struct MetricsRequest {
    std::string run;
    values::MetricCursor after{};  ///< none: from the first
    bool withSystem = false;       ///< also "system.*", which the daemon measures
};

using values::MetricChunk;

}  // namespace millrace::client
