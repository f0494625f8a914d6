#include "app/gui/pages/runs/run_pages.h"

#include <utility>

#include "app/gui/bridge/daemon_bridge.h"

namespace millrace::gui {
namespace {

constexpr int kPageSize = 1'000;

}  // namespace

void RunPages::start(values::ListRequest request, OnPage onPage, OnEnd onEnd) {
    drop();
    request_ = std::move(request);
    request_.pageSize = kPageSize;
    onPage_ = std::move(onPage);
    onEnd_ = std::move(onEnd);
    isReading_ = true;
    ask();
}

void RunPages::drop() {
    ++serial_;
    isReading_ = false;
}

void RunPages::ask() {
    daemon_.list(request_, this, [this, serial = serial_](Result<values::RunPage> reply) {
        if (serial != serial_) {
            return;
        }
        if (reply.ok()) {
            take(*reply);
        } else {
            end(reply.status());
        }
    });
}

// A listener may start another list: then this one is void.
void RunPages::take(const values::RunPage& page) {
    const int serial = serial_;
    const bool isFirst = request_.pageToken.empty();
    request_.pageToken = page.nextPageToken;
    const OnPage tell = onPage_;
    tell(page, isFirst);
    if (serial != serial_) {
        return;
    }
    if (request_.pageToken.empty()) {
        end(okStatus());
    } else {
        ask();
    }
}

void RunPages::end(const Status& status) {
    isReading_ = false;
    const OnEnd tell = std::exchange(onEnd_, {});
    tell(status);
}

}  // namespace millrace::gui
