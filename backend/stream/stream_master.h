#pragma once
// Who computes which segment: what the lead feed decides about its data workers, and nothing else.
//
// Segments are known by their number in the order of delivery and given foremost first, to the
// worker with a free place that read most of their files; one with a thread that has nothing to do
// goes before those that would put it behind others. Given again, with the next generation: a
// segment whose worker died, fell silent or left; the foremost that is late, to a second worker
// beside the first, as long as at most a tenth is given twice. The foremost has a place with any
// worker, also with one that has none left: nothing else could go on. The first answer counts and
// others are withdrawn, so of a segment one generation at a time is there to be delivered.
// A segment on which a worker died is given to one worker at a time, which may be any. It is given
// up, and ends the stream in its place, when a second one dies that got it after the first, or when
// two that had it at once died and no worker came for a while. The feed computes it only if a
// single worker died on it and none came for that while. What two workers lost otherwise, or no
// worker present is able to compute, the feed computes, and everything where none came for a
// shorter while.
//
// Time is an argument, in nanoseconds of any clock: steps back count as nothing, and a step forward
// as a second at most (the feed itself did not run), so that no jump of a clock makes a worker
// late. Threads: one owner. Failure: none; what a worker says of a segment that it does not hold is
// refused with false and changes nothing.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace millrace::stream {

using WorkerId = std::int64_t;  ///< as join() gave it: never used again

class StreamMaster {
 public:
    struct Options {
        std::int64_t silenceNs = 2'000'000'000;    ///< without a report: the worker is lost
        std::int64_t leastLateNs = 2'000'000'000;  ///< a segment is not late before
        double lateMedians = 3;  ///< nor before so many medians of the last ones' times
        std::int64_t firstLateNs = 30'000'000'000;  ///< in their place while there are none
        double mostTwice = 0.1;  ///< share of the segments that are given to two at a time
        std::int64_t aloneNs = 5'000'000'000;  ///< without any worker: the feed computes
        /// The same for a segment on which a worker died: more than the start of another takes.
        std::int64_t aloneAfterDeathNs = 15'000'000'000;
        int unablesMost = 3;  ///< a worker that was unable so often in turn is sent away
        int workersLeast = 0, workersMost = 0;  ///< of adviseWorkers()
        std::uint32_t firstGeneration = 0;      ///< no order has one below it
    };

    /// A segment in one worker's hands.
    struct Hand {
        WorkerId worker = 0;
        std::int64_t number = 0;
        std::uint32_t generation = 0;
        bool operator==(const Hand&) const = default;
    };
    struct Deadly {
        std::int64_t number = 0;
        std::vector<std::string> workers;  ///< names of those that died
    };
    /// What is to be done now, in this order.
    struct Decisions {
        std::vector<WorkerId> silent;  ///< lost for lack of reports: not to be listened to any more
        std::vector<WorkerId> unfit;   ///< sent away: unable too often
        std::vector<Hand> withdrawn;   ///< nobody waits for it any more
        std::vector<WorkerId> farewell;  ///< that left and hold nothing any more
        std::vector<Hand> orders;
        std::vector<std::int64_t> here;  ///< to be computed in the feed
        std::vector<Deadly> deadly;      ///< each ends the stream in its place
    };
    enum class Loss {
        kDied,   ///< its connection ended without a farewell
        kBroken  ///< its word is not to be trusted, or a link was cut
    };
    /// How the ranks fared since the last advice, as shares of that time, 0 to 1.
    struct Appetite {
        double starved = 0;  ///< delivery waited for a segment
    };

    explicit StreamMaster(const Options& options) : options_(options) {}

    /// The next segment in order, not computed by anybody. `files`: what it reads, by their index.
    void add(std::int64_t number, std::span<const std::uint32_t> files);
    /// So many more segments could be given out at once.
    std::int64_t room() const;
    /// All of its frames are delivered, or it is computed in the feed: forgotten.
    void delivered(std::int64_t number);

    /// `places`: segments that it may have at a time, ordered or held for the feed. `threads`: that
    /// it computes on.
    WorkerId join(std::string name, int places, int threads, std::int64_t nowNs);
    /// A sign of life, with as many places as it has now.
    void report(WorkerId worker, int places, std::int64_t nowNs);
    /// It begins to compute a segment: who dies before done() is counted against it.
    bool started(const Hand& hand);
    /// It holds the segment's frames. True: the first answer, which is the one that counts.
    bool done(const Hand& hand, std::int64_t nowNs);
    /// It cannot compute the segment (no such file there, too little memory), another may.
    bool unable(const Hand& hand);
    /// It lets go of the segment to have memory for an earlier one: given again, nobody's fault.
    bool gaveBack(const Hand& hand);
    /// It takes nothing more and goes (Decisions::farewell) once it holds nothing.
    void leave(WorkerId worker);
    /// It is gone.
    void lose(WorkerId worker, Loss loss);

    /// To be asked after every change, and every half second.
    Decisions decide(std::int64_t nowNs);

    /// Workers that the stream should have, between the options' least and most: more at once where
    /// the ranks starve, fewer when so many were idle for half a minute. Every second or so.
    int adviseWorkers(const Appetite& appetite, std::int64_t nowNs);

    /// It was ordered, and neither answered nor withdrawn.
    bool isComputing(const Hand& hand) const;
    /// Whether these are the frames that count.
    bool holds(const Hand& hand) const;
    std::size_t numWorkers() const { return workers_.size(); }
    /// There has been no worker for a while: what is not added yet is the feed's own.
    bool isAlone() const { return isAloneFor(options_.aloneNs); }
    /// "": unknown.
    std::string nameOf(WorkerId worker) const;
    /// Of the segments that were added: those ordered from a second worker beside the first.
    std::int64_t numTwice() const { return numTwice_; }

 private:
    /// The files that a worker read last: a small cache's places, each with the file that took it
    /// last.
    class FilesRead {
     public:
        void add(std::span<const std::uint32_t> files);
        std::size_t count(std::span<const std::uint32_t> files) const;

     private:
        static constexpr std::size_t kPlaces = 1024;
        std::vector<std::uint32_t> files_ = std::vector<std::uint32_t>(kPlaces, ~0U);
    };
    struct Holder {
        WorkerId worker = 0;
        std::uint32_t generation = 0;
        std::int64_t orderedNs = 0, startedNs = -1;
    };
    struct Segment {
        std::vector<std::uint32_t> files;
        std::vector<Holder> holders;        ///< that compute it: two at most
        std::optional<Holder> keeper;       ///< who answered first
        std::uint32_t generation = 0;       ///< of the next order
        bool isHere = false;                ///< the feed's, or given up: no worker's any more
        std::uint32_t deathGeneration = 0;  ///< orders below it were given before the last death
        std::vector<std::string> dead;      ///< names of workers that died on it
        std::vector<std::string> deadToo;   ///< of those that had it when one of `dead` died
        std::set<WorkerId> losers;          ///< that lost it otherwise
    };
    struct Worker {
        std::string name;
        int places = 0, threads = 1, unables = 0;
        std::int64_t heardNs = 0;
        bool isLeaving = false;
        std::set<std::int64_t> numbers;  ///< in its hands
        FilesRead files;
    };
    using Segments = std::map<std::int64_t, Segment>;

    void advance(std::int64_t nowNs);
    Holder* holderOf(const Hand& hand);
    const Holder* holderOf(const Hand& hand) const;
    void withdraw(const Segment& segment, std::int64_t number, WorkerId exceptFor);
    void letGo(WorkerId id, std::int64_t number);
    static void blame(Segment& segment, const Holder& holder, const std::string* deadName);
    void giveAgain(std::int64_t number, const Segment& segment);
    void drop(WorkerId id, bool isDeath);
    bool isAble(const Segment& segment, WorkerId id, const Worker& worker) const;
    bool isAloneFor(std::int64_t ns) const {
        return workers_.empty() && elapsedNs_ - presentNs_ >= ns;
    }
    bool isDeadly(const Segment& segment) const;
    bool mustBeHere(const Segment& segment) const;
    bool give(std::int64_t number, Segment& segment, bool isForemost);
    void loseSilent();
    void giveLate();
    void giveWaiting();
    void sayFarewell();
    std::int64_t lateNs() const;
    Segments::iterator foremost();

    const Options options_;
    std::optional<std::int64_t> lastNs_;
    std::int64_t elapsedNs_ = 0;  ///< what this object takes for the time
    std::int64_t presentNs_ = 0;  ///< when there was a worker last
    WorkerId nextWorker_ = 1;
    std::map<WorkerId, Worker> workers_;
    Segments segments_;               ///< added and not delivered
    std::set<std::int64_t> waiting_;  ///< that nobody computes
    Decisions decisions_;
    std::int64_t numGiven_ = 0, numTwice_ = 0;
    static constexpr std::size_t kTimes = 64;
    std::array<std::int64_t, kTimes> times_{};  ///< from order to answer, the last ones
    std::size_t numTimes_ = 0;

    double busyNs_ = 0;  ///< threads' time since the last advice
    std::int64_t advisedNs_ = 0, idleSinceNs_ = -1;
    int advice_ = 0;
};

}  // namespace millrace::stream
