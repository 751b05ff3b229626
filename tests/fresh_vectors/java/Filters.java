import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Set;
import java.util.TreeSet;
import org.apache.pulsar.broker.loadbalance.BrokerFilter;
import org.apache.pulsar.broker.loadbalance.BrokerFilterException;
import org.apache.pulsar.broker.loadbalance.impl.BrokerLoadManagerClassFilter;
import org.apache.pulsar.broker.loadbalance.impl.BrokerVersionFilter;
import org.apache.pulsar.broker.loadbalance.impl.LoadManagerShared;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;

/** What the modular manager filters candidates by: topics, load manager class, version. */
final class Filters {
    private Filters() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        var leader = new Leader();
        leader.take(in);
        Set<String> candidates = Json.hashSet(Json.texts(in.get("candidates")));
        String error = null;
        if (kind.equals("topic_count_modular")) {
            LoadManagerShared.filterBrokersWithLargeTopicCount(candidates, leader.data, in.get("maxTopics").asInt());
        } else {
            BrokerFilter filter =
                    kind.equals("class_filter") ? new BrokerLoadManagerClassFilter() : new BrokerVersionFilter();
            try {
                filter.filter(candidates, new BundleData(), leader.data, Json.settings(in));
            } catch (BrokerFilterException | NumberFormatException refused) {
                error = refused.getClass().getSimpleName();
            }
        }
        return left(candidates, error);
    }

    static ObjectNode left(Set<String> candidates, String error) {
        var out = Json.MAPPER.createObjectNode();
        out.set("candidates", Json.array(new TreeSet<>(candidates)));
        return error == null ? out : out.put("error", error);
    }
}
