"""A model for each key, plainly: a dict of models, row by row."""

from river_amf.keyed.adapters import SMALLEST_BLOCK


class NaiveKeyed:
    """What KeyedClassifier and KeyedRegressor have to equal, whatever is in memory."""

    def __init__(self, factory, key):
        self.factory = factory
        self.key = key
        self.models = {}

    def split(self, x):
        """Return the key, and the features without it."""
        return x[self.key], {name: value for name, value in x.items() if name != self.key}

    def learn_one(self, x, y, w=None):
        """Learn a sample."""
        key, features = self.split(x)
        if key not in self.models:
            self.models[key] = self.factory()
        self.models[key].learn_one(features, y, **({} if w is None else {"w": w}))

    def answer(self, method, x):
        """Return a prediction; a new model answers for a new key."""
        key, features = self.split(x)
        return getattr(self.models.get(key, self.factory()), method)(features)

    def learn_many(self, rows, y, w=None):
        """Learn the rows one by one."""
        for i, x in enumerate(rows):
            self.learn_one(x, y[i], None if w is None else w[i])

    def learn_blocks(self, X, y):
        """Learn the rows of each key as one frame of pandas, or one by one if there are few."""
        for key, part in X.groupby(self.key, sort=False):
            model = self.models.setdefault(key, self.factory())
            features = part.drop(columns=self.key)
            if len(part) >= SMALLEST_BLOCK:
                model.learn_many(features, y[part.index])
            else:
                for x, label in zip(features.to_dict("records"), y[part.index], strict=True):
                    model.learn_one(x, label)

    def predict_blocks(self, method, X):
        """Return what each model says of its rows, in the order of the rows."""
        answers = {}
        for key, part in X.groupby(self.key, sort=False):
            model = self.models.get(key, self.factory())
            found = getattr(model, method)(part.drop(columns=self.key))
            answers.update(zip(part.index, found.to_numpy().tolist(), strict=True))
        return [answers[row] for row in X.index]
