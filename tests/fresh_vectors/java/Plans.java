import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.LoadData;
import org.apache.pulsar.broker.loadbalance.impl.AvgShedder;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;

/**
 * Where {@code AvgShedder} will put bundles. Up to 4.2 it keeps that by what is known of a bundle, and keeps what it draws as
 * well; from 5.0 on it keeps it by the bundle's name, and draws anew each time.
 */
final class Plans {
    private static final int DRAWS_PER_CANDIDATE = 40;
    private static final Class<?>[] PLACED =
            {Set.class, String.class, BundleData.class, LoadData.class, ServiceConfiguration.class};

    private final AvgShedder shedder;
    private final boolean byName = Json.declares(AvgShedder.class, "selectBrokerForBundle", PLACED);

    Plans(AvgShedder shedder) {
        this.shedder = shedder;
    }

    String destination(String name, BundleData bundle) {
        if (byName) {
            Object plan = Json.<Map<String, Object>>field(shedder, "pendingBundleToUnload").get(name);
            return plan == null ? null : Json.field(plan, "destinationBroker");
        }
        return kept().get(bundle);
    }

    /** All brokers that it may pick. It keeps the last one that it picked, if it keeps any. */
    TreeSet<String> answers(
            Set<String> candidates, String name, BundleData bundle, LoadData known, ServiceConfiguration settings) {
        var before = byName ? null : new HashMap<>(kept());
        var answers = new TreeSet<String>();
        for (int draw = 0; draw < DRAWS_PER_CANDIDATE * Math.max(1, candidates.size()); draw++) {
            if (byName) {
                Optional<String> picked =
                        Json.call(shedder, AvgShedder.class, "selectBrokerForBundle", PLACED, candidates, name, bundle, known, settings);
                picked.ifPresent(answers::add);
            } else {
                kept().clear();
                kept().putAll(before);
                answers.add(shedder.selectBroker(candidates, bundle, known, settings).get());
            }
        }
        return answers;
    }

    /** What of the answers is taken: what it keeps, or else the first one. */
    String picked(TreeSet<String> answers, BundleData bundle) {
        return answers.isEmpty() ? null : byName ? answers.first() : kept().get(bundle);
    }

    /** By what is known of each bundle. */
    Map<BundleData, String> kept() {
        return Json.field(shedder, "bundleBrokerMap");
    }
}
