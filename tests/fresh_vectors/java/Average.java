import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import org.apache.pulsar.broker.loadbalance.impl.AvgShedder;
import org.apache.pulsar.policies.data.loadbalancer.BundleData;

/** {@code AvgShedder}, which sheds and places. */
final class Average {
    private Average() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        var leader = new Leader();
        var shedder = new AvgShedder();
        var plans = new Plans(shedder);
        var settings = Json.settings(in);
        return Json.steps(in, step -> {
            leader.take(step);
            var answer = Json.MAPPER.createObjectNode();
            if (step.path("op").asText().equals("place")) {
                String name = step.get("bundle").asText();
                BundleData bundle = leader.bundleOrDefault(name);
                var candidates = Json.hashSet(Json.texts(step.get("candidates")));
                try {
                    var answers = plans.answers(candidates, name, bundle, leader.data, settings);
                    answer.set("answers", Json.array(answers));
                    return answer.put("picked", plans.picked(answers, bundle));
                } catch (RuntimeException error) {
                    return answer.put("error", error.getClass().getSimpleName());
                }
            }
            var found = shedder.findBundlesForUnloading(leader.data, settings);
            answer.set("unload", Shedders.unloads(found));
            var planned = answer.putObject("destination");
            for (String name : found.values()) {
                planned.put(name, plans.destination(name, leader.data.getBundleData().get(name)));
            }
            answer.set("high", Json.MAPPER.valueToTree(counts(Json.field(shedder, "brokerHitCountForHigh"))));
            answer.set("low", Json.MAPPER.valueToTree(counts(Json.field(shedder, "brokerHitCountForLow"))));
            return answer;
        });
    }

    private static Map<String, Integer> counts(Map<String, ? extends Number> hits) {
        Map<String, Integer> plain = new HashMap<>();
        hits.forEach((name, count) -> plain.put(name, count.intValue()));
        return plain;
    }
}
