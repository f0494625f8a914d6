#include "app/gui/pages/runs/parts/repeat_dialog.h"

#include <QLabel>
#include <QPushButton>

#include "tests/unit/gui_runs/runs_fixture.h"

namespace millrace::gui {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RepeatTest : public RunsTest {
 protected:
    RepeatTest() {
        daemon.onCheck = [this](const values::CheckRequest& request) { return check(request); };
        daemon.onSubmit = [this](const values::SubmitRequest& request) { return submit(request); };
    }
    RepeatDialog* ask(const std::vector<std::string>& ids) {
        page->actions().launchAgain(ids);
        const bool isThere = until([this] {
            const auto* dialog = page->findChild<RepeatDialog*>();
            return dialog != nullptr && dialog->isChecked();
        });
        return isThere ? page->findChild<RepeatDialog*>() : nullptr;
    }
    static std::vector<std::string> sentences(const RepeatDialog& dialog) {
        std::vector<std::string> texts;
        for (const QString& text : dialog.sentences()) {
            texts.push_back(text.toStdString());
        }
        return texts;
    }
    std::vector<values::SubmitRequest> submitted() {
        MutexLock lock(mutex_);
        return submits_;
    }
    /// The hash of each variation; the scene's hash if it is not given.
    std::map<std::string, std::string> hashes;
    std::vector<values::SpecError> errors;

 private:
    const values::RunDetail& storedOf(const std::string& variation) const {
        return *std::find_if(stored.begin(), stored.end(), [&](const values::RunDetail& run) {
            return run.summary.variation == variation;
        });
    }
    std::string hashOf(const std::string& variation) const {
        const auto known = hashes.find(variation);
        return known == hashes.end() ? storedOf(variation).summary.specHash : known->second;
    }
    static std::vector<std::string> variationsOf(const std::vector<std::string>& named,
                                                 bool isWithoutBase) {
        std::vector<std::string> all = named;
        if (!isWithoutBase || named.empty()) {
            all.insert(all.begin(), "");
        }
        return all;
    }
    Result<values::CheckReply> check(const values::CheckRequest& request) const {
        values::CheckReply reply;
        reply.errors = errors;
        for (const std::string& name : variationsOf(request.variations, request.withoutBase)) {
            const values::RunDetail& run = storedOf(name);
            if (errors.empty()) {
                reply.runs.push_back({name, run.resolvedSpec, hashOf(name), "s", run.planRows,
                                      run.planFiles, 1, run.summary.planHash});
            }
        }
        return reply;
    }
    Result<values::SubmitReply> submit(const values::SubmitRequest& request) {
        MutexLock lock(mutex_);
        submits_.push_back(request);
        values::SubmitReply reply;
        for (const std::string& name : variationsOf(request.variations, request.withoutBase)) {
            values::RunSummary run;
            run.id = "r-new" + std::to_string(++numMade_);
            run.variation = name;
            run.specHash = hashOf(name);
            reply.runs.push_back(run);
        }
        return reply;
    }

    Mutex mutex_;
    std::vector<values::SubmitRequest> submits_ MR_GUARDED_BY(mutex_);
    int numMade_ MR_GUARDED_BY(mutex_) = 0;
};

TEST_F(RepeatTest, SaysThatTheSpecHashIsEqualBeforeItLaunches) {
    open(5);
    RepeatDialog* dialog = ask({"r-00002"});
    ASSERT_NE(dialog, nullptr);
    EXPECT_THAT(sentences(*dialog), ElementsAre(HasSubstr("spec hash equal (5fr-00002): repeats "
                                                          "r-00002")));
    EXPECT_TRUE(submitted().empty()) << "nobody has said so yet";
    EXPECT_TRUE(dialog->launchButton()->hasFocus() || !dialog->isActiveWindow());
    dialog->launchButton()->click();
    ASSERT_TRUE(until([&] { return !gone.empty(); }));
    EXPECT_EQ(gone[0].page, PageName::kWatch);
    EXPECT_THAT(gone[0].runIds, ElementsAre("r-new1"));
    ASSERT_EQ(submitted().size(), 1U);
    const values::SubmitRequest sent = submitted()[0];
    EXPECT_EQ(sent.specText, stored[2].specText);
    EXPECT_EQ(sent.variations, std::vector<std::string>{stored[2].summary.variation});
    EXPECT_TRUE(sent.withoutBase);
    EXPECT_FALSE(sent.key.empty());
    EXPECT_THAT(notices.back().text.toStdString(),
                HasSubstr("Launched r-new1; spec hash equal: repeats r-00002"));
}

TEST_F(RepeatTest, SaysInWhatTheNewRunWouldDifferAndLaunchesItAllTheSame) {
    open(5);
    hashes[stored[2].summary.variation] = "44d0e859ed82";
    RepeatDialog* dialog = ask({"r-00002"});
    ASSERT_NE(dialog, nullptr);
    EXPECT_THAT(sentences(*dialog), ElementsAre(HasSubstr("spec hash differs from r-00002")));
    dialog->launchButton()->click();
    ASSERT_TRUE(until([&] { return !gone.empty(); }));
    EXPECT_THAT(notices.back().text.toStdString(), HasSubstr("spec hash differs from r-00002"));
}

TEST_F(RepeatTest, LaunchesNothingThatTheDaemonWouldRefuse) {
    open(5);
    errors = {
        {"movies.csv: not there, nor anything that could be taken for it, wherever one looks"}};
    RepeatDialog* dialog = ask({"r-00002"});
    ASSERT_NE(dialog, nullptr);
    const auto fits = [dialog] {
        const QList<QLabel*> labels = dialog->findChildren<QLabel*>();
        return std::all_of(labels.begin(), labels.end(), [](const QLabel* label) {
            return label->height() >= label->heightForWidth(label->width());
        });
    };
    EXPECT_TRUE(until(fits)) << "a sentence is cut off";
    EXPECT_THAT(sentences(*dialog), ElementsAre(HasSubstr("cannot be launched: movies.csv")));
    EXPECT_FALSE(dialog->launchButton()->isEnabled());
    dialog->changeButton()->click();
    ASSERT_TRUE(until([&] { return !gone.empty(); }));
    EXPECT_EQ(gone[0].page, PageName::kLaunch);
    EXPECT_EQ(gone[0].changed->summary.id, "r-00002");
}

TEST_F(RepeatTest, ABaseAndItsVariationsAreOneSubmitAgain) {
    open(5);
    RepeatDialog* dialog = ask({"r-00000", "r-00002", "r-00003"});
    ASSERT_NE(dialog, nullptr);
    EXPECT_EQ(dialog->sentences().size(), 3);
    EXPECT_EQ(dialog->launchButton()->text(), "Launch 3 again");
    EXPECT_FALSE(dialog->changeButton()->isVisible());
    dialog->launchButton()->click();
    ASSERT_TRUE(until([&] { return !gone.empty(); }));
    ASSERT_EQ(submitted().size(), 1U);
    EXPECT_FALSE(submitted()[0].withoutBase);
    EXPECT_THAT(submitted()[0].variations,
                ElementsAre(stored[2].summary.variation, stored[3].summary.variation));
    EXPECT_EQ(gone[0].runIds.size(), 3U);
}

TEST_F(RepeatTest, RunsOfSeveralSubmitsAreLaunchedInTheirOrder) {
    open(10);
    RepeatDialog* dialog = ask({"r-00007", "r-00002"});
    ASSERT_NE(dialog, nullptr);
    dialog->launchButton()->click();
    ASSERT_TRUE(until([&] { return !gone.empty(); }));
    ASSERT_EQ(submitted().size(), 2U);
    EXPECT_THAT(gone[0].runIds, ElementsAre("r-new1", "r-new2"));
}

TEST_F(RepeatTest, OneKeyAsksAndEscapeGivesUp) {
    open(5);
    page->view().select({"r-00002"});
    page->view().focusRows();
    QTest::keyClick(page.get(), Qt::Key_R, Qt::ControlModifier);
    ASSERT_TRUE(until([&] { return page->findChild<RepeatDialog*>() != nullptr; }));
    QTest::keyClick(page->findChild<RepeatDialog*>(), Qt::Key_Escape);
    ASSERT_TRUE(until([&] { return page->findChild<RepeatDialog*>() == nullptr; }));
    EXPECT_TRUE(submitted().empty());
}

}  // namespace
}  // namespace millrace::gui
