import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.pulsar.broker.loadbalance.ModularLoadManagerStrategy;
import org.apache.pulsar.broker.loadbalance.impl.LeastLongTermMessageRate;
import org.apache.pulsar.broker.loadbalance.impl.LeastResourceUsageWithWeight;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;

/** The placement strategies of the modular manager that every release has. */
final class Placements {
    private Placements() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        return kind.equals("place_least_rate") ? leastRate(in) : leastResource(in);
    }

    private static ObjectNode leastRate(JsonNode in) {
        var leader = new Leader();
        leader.take(in);
        var strategy = new LeastLongTermMessageRate();
        return placed(strategy, "bestBrokers", () -> select(strategy, in, in.get("candidates"), leader));
    }

    private static ObjectNode leastResource(JsonNode in) {
        var leader = new Leader();
        var strategy = new LeastResourceUsageWithWeight();
        return Json.steps(in, step -> {
            leader.take(step);
            if (step.has("active")) {
                Json.tellActive(strategy, step.get("active"));
            }
            var answer = placed(strategy, "bestBrokers", () -> select(strategy, in, step.get("candidates"), leader));
            answer.set("usage", Json.numbers(Json.field(strategy, "brokerAvgResourceUsageWithWeight")));
            return answer;
        });
    }

    private static Optional<String> select(
            ModularLoadManagerStrategy strategy, JsonNode in, JsonNode candidates, Leader leader) {
        return strategy.selectBroker(Json.hashSet(Json.texts(candidates)), new BundleData(), leader.data, Json.settings(in));
    }

    /** All brokers that the class would have drawn from, in its order. */
    static ObjectNode placed(Object strategy, String best, Supplier<Optional<String>> select) {
        var answer = Json.MAPPER.createObjectNode();
        try {
            Optional<String> picked = select.get();
            List<String> answers = Json.field(strategy, best);
            answer.set("answers", Json.array(picked.isEmpty() ? List.of() : answers));
        } catch (RuntimeException error) {
            answer.put("error", error.getClass().getSimpleName());
        }
        return answer;
    }
}
