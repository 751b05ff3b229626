import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.broker.loadbalance.extensions.data.BrokerLoadData;
import org.apache.pulsar.broker.loadbalance.extensions.strategy.LeastResourceUsageWithWeight;

/** {@code LeastResourceUsageWithWeight} of the extensible manager. */
final class LeastLoad {
    private LeastLoad() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        var strategy = new LeastResourceUsageWithWeight();
        Map<String, BrokerLoadData> loads = new ConcurrentHashMap<>();
        Json.replace(loads, Json.named(in.get("loads"), "broker", entry -> load(Json.number(entry, "load"))));
        var context = Context.of(Json.settings(in), Context.store(loads, Set.of()), null, null);
        Map<String, Boolean> candidates = new ConcurrentHashMap<>();
        Json.texts(in.get("candidates")).forEach(name -> candidates.put(name, true));
        ThreadLocal<ArrayList<String>> best = Json.field(strategy, "bestBrokers");
        var picked = strategy.select(candidates.keySet(), null, context);
        var out = Json.MAPPER.createObjectNode();
        out.set("answers", Json.array(picked.isEmpty() ? List.of() : best.get()));
        return out;
    }

    private static BrokerLoadData load(double weighted) {
        var made = new BrokerLoadData();
        Json.set(made, "weightedMaxEMA", weighted);
        Json.set(made, "updatedAt", System.currentTimeMillis());
        return made;
    }
}
