#include "daemon/nodes/agent_reports.h"

#include <map>
#include <utility>

#include "backend/core/log.h"
#include "backend/filesystem/files.h"
#include "backend/job/attempt_paths.h"
#include "backend/job/log_mirror.h"
#include "daemon/nodes/messages.h"
#include "proto/convert/node_convert.h"

namespace millrace::nodes {
namespace {

std::map<std::string, engines::State> gangsOf(const v1::AgentReport& report, std::int64_t nowMs) {
    std::map<std::string, engines::State> gangs;
    for (const v1::GangReport& gang : report.gangs()) {
        gangs[gang.key()] = fromProto(gang, nowMs);
    }
    return gangs;
}

std::optional<agent::NodeLeave> leaveOf(const v1::AgentReport& report) {
    return report.has_leave() ? std::optional(agent::NodeLeave{
                                    std::chrono::milliseconds(report.leave().grace_ms()),
                                    report.leave().is_gone()})
                              : std::nullopt;
}

}  // namespace

// Checks the token first: an agent without it learns nothing else.
Status AgentReports::admits(const v1::Attachment& attachment) const {
    RETURN_IF_ERROR(tokens_.admit(attachment.node().name(), attachment.token()));
    if (attachment.build_id() != buildId_) {
        const std::string& name = attachment.node().name();
        return failedPrecondition(
            "attach: build ", attachment.build_id(), " came to build ", buildId_,
            "; a head and its agents must be of one build of Millrace: install this one on ", name,
            " ('millrace up --host ssh://", name,
            " --install'). An agent whose program that replaces becomes it by itself; another one "
            "is ended and started again (millraced --slot --join FILE)");
    }
    return okStatus();
}

Status AgentReports::attach(const std::shared_ptr<agent::NodeSession>& session,
                            const v1::AgentReport& report) {
    Status status = admits(report.attachment());
    if (status.ok()) {
        status = table_.attach(session, convert::fromProto(report.attachment().node()),
                               gangsOf(report, clock_.wallMs()), report.attachment().machine());
    }
    if (status.ok()) {  // its name may have been forgotten meanwhile
        status = tokens_.admit(report.attachment().node().name(), report.attachment().token());
    }
    if (!status.ok()) {
        if (!absl::IsUnauthenticated(status)) {
            table_.noteRefused(
                report.attachment().node().name(), std::string(messageOf(status)),
                absl::IsFailedPrecondition(status) && !report.attachment().is_bound());
        }
        logWarn("nodes: refused",
                {{"node", report.attachment().node().name()}, {"why", messageOf(status)}});
    }
    return status;
}

Status AgentReports::heard(const agent::NodeSession& session, const v1::AgentReport& report) {
    agent::NodeNews news{gangsOf(report, clock_.wallMs()), std::nullopt, leaveOf(report)};
    if (report.has_sample()) {
        news.sample = convert::fromProto(report.sample());
    }
    // Lines first, so that a worker's log is complete when its end is reported.
    for (const v1::LogPart& part : report.logs()) {
        RETURN_IF_ERROR(keep(session, part));  // the agent reconnects and resumes at the log's end
    }
    RETURN_IF_ERROR(table_.report(session, std::move(news)));
    for (const v1::GangReport& gang : report.gangs()) {
        RETURN_IF_ERROR(keepJoinFile(session, gang));
    }
    return report.leave().is_gone() ? cancelled("the agent has left") : okStatus();
}

// Writes the file where the attempt's crews look for it, as a feed on this machine does.
Status AgentReports::keepJoinFile(const agent::NodeSession& session,
                                  const v1::GangReport& gang) const {
    const auto part = agent::PartName::parse(gang.key());
    if (gang.join_file().empty() || !part.has_value() || part->part != 0 ||
        !table_.logOf(session, gang.key(), part->feed()).has_value()) {
        return okStatus();
    }
    const job::AttemptPaths paths = job::RunPaths(runsDir_, part->run).attempt(part->attempt);
    return writeFileAtomic(paths.joinFile(), gang.join_file(), 0600);
}

// Keeps only logs of what was placed there: a node cannot name other files of the head.
Status AgentReports::keep(const agent::NodeSession& session, const v1::LogPart& part) {
    const auto key = table_.logOf(session, part.key(), part.worker());
    if (!key.has_value()) {
        return okStatus();
    }
    const Status kept = job::appendLog(runsDir_, *key, {part.lines(), part.start()});
    if (!kept.ok()) {
        logWarn("nodes: lines of a log not kept", {{"gang", part.key()}, {"why", messageOf(kept)}});
    }
    return kept;
}

}  // namespace millrace::nodes
