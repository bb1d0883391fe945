"""What scikit-learn's own callbacks are told."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from bochner import KernelClassifier, KernelRegressor
from bochner.solvers import DoublyStochastic

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SMALL_STEPS = DoublyStochastic(batch_size=100, feature_block=12)


class Recorder:
    """Notes what it is told, and asks to stop after some passes."""

    def __init__(self, passes=None):
        self.passes, self.events, self.scores = passes, [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.events.append(f"end {context.task_name}")
        self.scores.append(fitted_estimator.score(X, y))
        return self.events.count("end pass") == self.passes


def model(**changes):
    return KernelClassifier(
        **{"random_state": 0, "max_passes": 3, "tol": 0.0, "solver": SMALL_STEPS} | changes
    )


def test_every_pass_is_a_task(classes):
    recorder = Recorder()
    fitted = model().set_callbacks(recorder).fit(*classes)
    assert recorder.events == [
        "setup",
        "begin fit",
        *["begin pass", "end pass"] * 3,
        "end fit",
        "teardown",
    ]
    assert recorder.scores[-1] == fitted.score(*classes)


def test_a_fit_of_other_columns_shows_callbacks_its_own_function(classes):
    X, y = classes
    recorder = Recorder()
    fitted = model().set_callbacks(recorder).fit(X, y)
    assert len(fitted.feature_importances_) == 2
    fitted.fit(X[:, :1], y)
    assert recorder.scores[-1] == fitted.score(X[:, :1], y)
    assert len(fitted.feature_importances_) == 1


def test_a_callback_can_stop_the_fit(classes):
    fitted = model().set_callbacks(Recorder(passes=2)).fit(*classes)
    assert fitted.n_iter_ == 2
    assert fitted.stopped_because_ == "a callback asked to stop"


def test_a_callback_is_torn_down_when_the_fit_fails(classes):
    recorder = Recorder()

    def fail(progress):
        raise RuntimeError

    estimator = model(callbacks=[fail]).set_callbacks(recorder)
    with pytest.raises(RuntimeError):
        estimator.fit(*classes)
    assert recorder.events == ["setup", "begin fit", "begin pass", "teardown"]
    assert not hasattr(estimator, "expansion_")


def test_scikit_learns_monitor_scores_every_pass(regression):
    monitor = callback.ScoringMonitor(scoring="r2")
    estimator = KernelRegressor(random_state=0, max_passes=3, tol=0.0, solver=SMALL_STEPS)
    estimator.set_callbacks(monitor).fit(*regression)
    scores = [row["r2"] for row in monitor.get_logs().data]
    assert len(scores) == 4
    assert np.isclose(estimator.score(*regression), scores).any()


def test_a_stream_is_not_handed_to_callbacks(regression):
    X, y = regression
    seen = []

    class Looker(Recorder):
        def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
            seen.append((X, y, fitted_estimator.predict(regression[0]).shape))

    estimator = KernelRegressor(random_state=0, solver=SMALL_STEPS).set_callbacks(Looker())
    estimator.fit((X[i : i + 100], y[i : i + 100]) for i in range(0, 400, 100))
    assert seen == [(None, None, (400,))] * 2
    assert estimator.history_["rows"][-1] == 400


def test_scikit_learns_progress_bar_goes_through_a_search(classes, capsys):
    search = GridSearchCV(model(max_passes=1), {"alpha": [1e-6, 1e-3]}, cv=2)
    if not hasattr(search, "set_callbacks"):
        pytest.skip("this scikit-learn's searches have no callbacks")
    search.set_callbacks(callback.ProgressBar()).fit(*classes)
    captured = capsys.readouterr()
    assert "KernelClassifier" in captured.out + captured.err
