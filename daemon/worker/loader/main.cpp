// millrace-loader: reads, processes and delivers data.
#include "backend/core/build_id.h"
#include "daemon/worker/loader/program.h"

int main(int argc, char** argv) {
    return millrace::loader::runProgram(
        argc, argv, {std::string(millrace::buildId()), nullptr, nullptr, nullptr});
}
