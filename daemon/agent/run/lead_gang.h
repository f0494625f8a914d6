#pragma once
// LeadGang: part 0 of a run's attempts, the feed that leads and the first ranks, wherever it is: a
// gang of the engine on the head's machine, or placed on a node as the other parts are.
//
// Threads: the controller's only. Failure: errors as engines::Engine has them; a node that is away
// is kUnavailable.
#include <string>
#include <string_view>
#include <vector>

#include "daemon/agent/crew/gang.h"
#include "daemon/agent/crew/part_crew.h"
#include "daemon/agent/run/run_journal.h"
#include "daemon/agent/run/workplace.h"

namespace millrace::agent {

class LeadGang {
 public:
    /// All of it outlives this. `parts` knows the node; `needs`: of the head's machine.
    LeadGang(const Workplace& place, const RunJournal& journal, const JobFacts& facts,
             const schedule::Resources& needs, PartCrew& parts)
        : place_(place), journal_(journal), facts_(facts), needs_(needs), parts_(parts) {}

    bool isHere() const { return parts_.leadNode().empty(); }
    /// Of the present attempt, for an engine; of one that was not found or submitted yet: by name.
    engines::JobId job() const;

    Status submit();
    /// Whether it is there: false: it was never placed.
    Result<bool> find();
    /// How it stands. `news`: sentences for the run's history.
    Result<engines::State> state(std::vector<std::string>& news);
    /// Success means "asked".
    Status cancel(std::chrono::milliseconds grace, std::string_view why);

    /// What a node is to have of the attempt: this, or another part. `needs`: of that node.
    Result<Placement> placementOf(const PartName& name, int masterPort,
                                  const schedule::Resources& needs) const;

 private:
    std::string key() const { return gangKey(journal_.id(), journal_.attempt()); }

    const Workplace& place_;
    const RunJournal& journal_;
    const JobFacts& facts_;
    const schedule::Resources& needs_;
    PartCrew& parts_;
    engines::JobId job_;
};

}  // namespace millrace::agent
