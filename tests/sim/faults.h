#pragma once
// Faults: applies a plan's faults to a cluster: cut cables, killed processes, failing disks, and
// operators' requests.
//
// Threads: one.
#include <chrono>
#include <string>

#include "tests/sim/plan.h"

namespace millrace::sim {

class Cluster;
class Machine;

class Faults {
 public:
    explicit Faults(Cluster& cluster) : cluster_(cluster) {}
    void happen(const Plan::Fault& fault);

 private:
    void happenToRun(const Plan::Fault& fault, Machine& node);
    void happenToMachine(const Plan::Fault& fault, Machine& node);
    static void cutCable(Machine& node, std::int64_t ms);
    void stop(const std::string& run, std::chrono::seconds grace, bool isToResume);
    void cancel(const std::string& run);
    void submit(const Plan::Fault& fault);
    void hang(const Plan::Fault& fault);
    void stopProcess(class Rank& rank);
    void awaitEnd(class Rank& rank, bool isHeard);
    static void leaveStray(Machine& machine);
    void spoil(const std::string& run);
    void refuse(const Plan::Fault& fault);
    void failAtAdoption(const Plan::Fault& fault);
    void failAtEnd(const Plan::Fault& fault);
    void killRank(const Plan::Fault& fault);
    void killDataWorker(int number);
    void drain(const Plan::Fault& fault, bool isDrained);
    void leave(const Plan::Fault& fault);
    void resume();
    void failDisk(const Plan::Fault& fault);
    void cutPower(Machine& machine, std::int64_t ns);
    void startSecondHead();
    void upgrade(std::int64_t ns);
    void startTwin(const Plan::Fault& fault);
    void endTwin(Machine& twin, Machine& first);
    void slowDown(Machine& machine, const Plan::Fault& fault);

    Cluster& cluster_;
};

}  // namespace millrace::sim
