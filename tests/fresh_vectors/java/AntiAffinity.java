import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.loadbalance.impl.LoadManagerShared;

/** How the namespaces of an anti-affinity group are kept apart, once they are counted. */
final class AntiAffinity {
    private AntiAffinity() {
    }

    static ObjectNode answer(String kind, JsonNode in) {
        Map<String, Integer> counts = null;
        if (!in.get("counts").isNull()) {
            counts = new HashMap<>();
            for (var each = in.get("counts").fields(); each.hasNext();) {
                var entry = each.next();
                counts.put(entry.getKey(), entry.getValue().asInt());
            }
        }
        var candidates = Json.hashSet(Json.texts(in.get("candidates")));
        if (kind.equals("anti_affinity_unload")) {
            boolean useful = Json.call(null, LoadManagerShared.class, "shouldAntiAffinityNamespaceUnload",
                    new Class<?>[] {String.class, Set.class, Map.class}, in.get("current").asText(), candidates, counts);
            return Json.MAPPER.createObjectNode().put("unload", useful);
        }
        Map<String, String> domains = new HashMap<>();
        in.path("domains").fields().forEachRemaining(each -> domains.put(each.getKey(), each.getValue().asText()));
        Json.call(null, LoadManagerShared.class, "filterAntiAffinityGroupOwnedBrokers",
                new Class<?>[] {PulsarService.class, Set.class, Map.class, Map.class},
                Service.with(Json.settings(in)), candidates, domains, counts);
        return Filters.left(candidates, null);
    }
}
