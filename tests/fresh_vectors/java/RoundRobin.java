import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pulsar.broker.loadbalance.LoadData;
import org.apache.pulsar.broker.loadbalance.impl.RoundRobinBrokerSelector;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;

/** {@code RoundRobinBrokerSelector}. */
final class RoundRobin {
    private RoundRobin() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        var selector = new RoundRobinBrokerSelector();
        Json.<AtomicInteger>field(selector, "count").set(in.path("count").asInt());
        var out = Json.MAPPER.createObjectNode();
        var selected = out.putArray("selected");
        for (JsonNode candidates : in.get("steps")) {
            Set<String> set = in.path("concurrent").asBoolean() ? ConcurrentHashMap.newKeySet() : new HashSet<>();
            set.addAll(Json.texts(candidates));
            selected.add(selector.selectBroker(set, new BundleData(), new LoadData(), Json.settings(in)).orElse(null));
        }
        return out;
    }
}
