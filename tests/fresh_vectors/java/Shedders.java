import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.Multimap;
import org.apache.pulsar.broker.loadbalance.LoadSheddingStrategy;
import org.apache.pulsar.broker.loadbalance.impl.OverloadShedder;
import org.apache.pulsar.broker.loadbalance.impl.ThresholdShedder;
import org.apache.pulsar.broker.loadbalance.impl.UniformLoadShedder;

/** The shedders that every release has. */
final class Shedders {
    private Shedders() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        return switch (kind) {
            case "shed_overload" -> shedOnce(new OverloadShedder(), in);
            case "shed_uniform" -> shedOnce(new UniformLoadShedder(), in);
            default -> threshold(in);
        };
    }

    private static ObjectNode shedOnce(LoadSheddingStrategy shedder, JsonNode in) {
        var leader = new Leader();
        leader.take(in);
        var out = Json.MAPPER.createObjectNode();
        out.set("unload", unloads(shedder.findBundlesForUnloading(leader.data, Json.settings(in))));
        return out;
    }

    static ArrayNode unloads(Multimap<String, String> found) {
        var all = Json.MAPPER.createArrayNode();
        for (var entry : found.asMap().entrySet()) {
            all.addArray().add(entry.getKey()).add(Json.array(entry.getValue()));
        }
        return all;
    }

    private static ObjectNode threshold(JsonNode in) {
        var leader = new Leader();
        var shedder = new ThresholdShedder();
        var settings = Json.settings(in);
        return Json.steps(in, step -> {
            leader.take(step);
            if (step.has("active")) {
                Json.tellActive(shedder, step.get("active"));
            }
            var answer = Json.MAPPER.createObjectNode();
            answer.set("unload", unloads(shedder.findBundlesForUnloading(leader.data, settings)));
            answer.set("usage", Json.numbers(Json.field(shedder, "brokerAvgResourceUsage")));
            return answer;
        });
    }
}
