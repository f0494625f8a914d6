#include "daemon/agent/run/lead_gang.h"

#include <utility>

namespace millrace::agent {

engines::JobId LeadGang::job() const {
    return job_.native == key() ? job_ : engines::JobId{place_.engine.name(), "", key()};
}

Status LeadGang::submit() {
    if (!isHere()) {
        return parts_.placeLead();
    }
    ASSIGN_OR_RETURN(engines::Gang gang,
                     makeGang(journal_.run(), journal_.attempt(), facts_, needs_,
                              {place_.dataListen, place_.rankInterface}));
    settle(gang, place_.binDir,
           journal_.directory().paths().attempt(journal_.attempt()).directory());
    ASSIGN_OR_RETURN(job_, place_.engine.submit(gang));
    return okStatus();
}

Result<bool> LeadGang::find() {
    RETURN_IF_ERROR(parts_.recall(journal_.directory().paths(), journal_.attempt()));
    if (!isHere()) {
        return parts_.findLead();
    }
    ASSIGN_OR_RETURN(const auto found, place_.engine.find(key()));
    job_ = found.value_or(engines::JobId());
    return found.has_value();
}

Result<engines::State> LeadGang::state(std::vector<std::string>& news) {
    if (!isHere()) {
        return parts_.lookAtLead(news);
    }
    return place_.engine.state(job());
}

Status LeadGang::cancel(std::chrono::milliseconds grace, std::string_view why) {
    if (!isHere()) {
        parts_.end();
        return okStatus();
    }
    const Status status = place_.engine.cancel(job(), grace, why);
    place_.pokeEngine();
    return status;
}

// The feed that leads listens where it is, and the ranks meet there.
Result<Placement> LeadGang::placementOf(const PartName& name, int masterPort,
                                        const schedule::Resources& needs) const {
    const job::RunPaths paths = journal_.directory().paths();
    const Meeting meeting = isHere() ? Meeting{place_.dataListen, place_.rankInterface}
                                     : Meeting{parts_.leadAddress(), ""};
    if (name.part > 0) {
        return makePart(journal_.run(), name, facts_, paths, meeting, masterPort, needs);
    }
    ASSIGN_OR_RETURN(const engines::Gang gang,
                     makeGang(journal_.run(), name.attempt, facts_, needs, meeting));
    ASSIGN_OR_RETURN(job::JobFile job, job::JobFile::read(paths.attempt(name.attempt).jobFile()));
    job.dataListen = parts_.leadAddress();
    return Placement{name.key(), engines::gangText(gang), job.toText(), "", "", ""};
}

}  // namespace millrace::agent
