// millrace-data: millrace-loader for streams with data workers or relays. The same roles, and data;
// a program of its own because gRPC takes longer to start than a small stream to read.
#include "backend/core/build_id.h"
#include "daemon/worker/data/data_worker.h"
#include "daemon/worker/data/lead.h"
#include "daemon/worker/loader/program.h"
#include "daemon/worker/relay/relay.h"

int main(int argc, char** argv) {
    using namespace millrace;
    const auto follow = [](const loader::FeedJob& job, loader::FeedEvents& events,
                           loader::FeedOwner& owner) {
        return relay::runRelay(job, std::string(buildId()), events, owner);
    };
    return loader::runProgram(
        argc, argv,
        {std::string(buildId()), data::Lead::start, data::runDataWorker, follow, nullptr});
}
