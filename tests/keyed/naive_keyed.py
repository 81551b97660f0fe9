"""A model for each key, plainly: a dict of models, row by row."""

from forests import state_of

from river_amf.keyed.blocks import MANY


def states_of(models):
    return {key: state_of(models[key]) for key in models}


class NaiveKeyed:
    """What KeyedClassifier and KeyedRegressor have to equal, whatever is in memory."""

    def __init__(self, new, key="user"):
        self.new = new
        self.key = key
        self.models = {}
        self.learned = []  # the keys of all samples

    def split(self, x):
        return x[self.key], {name: value for name, value in x.items() if name != self.key}

    def learn_one(self, x, y, w=None):
        key, features = self.split(x)
        if key not in self.models:
            self.models[key] = self.new()
        self.learned.append(key)
        self.models[key].learn_one(features, y, **({} if w is None else {"w": w}))

    def answer(self, method, x):
        """Return a prediction; a new model answers for a new key."""
        key, features = self.split(x)
        return getattr(self.models.get(key, self.new()), method)(features)

    def remove_unused(self, n_samples):
        """Remove the keys of which none of the last samples is, and return them."""
        unused = self.models.keys() - {*self.learned[-n_samples:]}
        for key in unused:
            del self.models[key]
        return unused

    def learn_many(self, X, y, w=None):
        """Learn the rows of each key as one frame of pandas, or one by one if there are few."""
        for key, part in X.groupby(self.key, sort=False):
            columns = {"y": y[part.index]} | ({} if w is None else {"w": w[part.index]})
            if len(part) >= MANY and hasattr(self.new(), "learn_many"):
                model = self.models.setdefault(key, self.new())
                model.learn_many(part.drop(columns=self.key), **columns)
            else:
                for x, *values in zip(part.to_dict("records"), *columns.values(), strict=True):
                    self.learn_one(x, *values)
