class CostOptimizer {
  constructor(cloudWatch, dynamodb) {
    this.cloudWatch = cloudWatch;
    this.dynamodb = dynamodb;
  }

  async analyzeUsagePattern(tableName, days = 7) {
    const endTime = new Date();
    const startTime = new Date(endTime - days * 24 * 60 * 60 * 1000);

    // Get consumed capacity metrics
    const metrics = await this.cloudWatch.getMetricStatistics({
      Namespace: 'AWS/DynamoDB',
      MetricName: 'ConsumedReadCapacityUnits',
      Dimensions: [
        { Name: 'TableName', Value: tableName }
      ],
      StartTime: startTime,
      EndTime: endTime,
      Period: 3600, // 1 hour
      Statistics: ['Average', 'Maximum']
    }).promise();

    // Analyze patterns
    const analysis = this.analyzeMetrics(metrics.Datapoints);
    
    // Recommend billing mode
    return this.recommendBillingMode(analysis);
  }

  analyzeMetrics(datapoints) {
    const sorted = datapoints.sort((a, b) => a.Maximum - b.Maximum);
    
    return {
      average: datapoints.reduce((sum, p) => sum + p.Average, 0) / datapoints.length,
      peak: sorted[sorted.length - 1]?.Maximum || 0,
      p95: sorted[Math.floor(sorted.length * 0.95)]?.Maximum || 0,
      variance: this.calculateVariance(datapoints.map(p => p.Average)),
      utilizationRate: this.calculateUtilization(datapoints)
    };
  }

  recommendBillingMode(analysis) {
    const recommendations = [];

    // High variance suggests on-demand
    if (analysis.variance > 100) {
      recommendations.push({
        mode: 'ON_DEMAND',
        reason: 'High traffic variance detected',
        estimatedMonthlyCost: this.estimateOnDemandCost(analysis)
      });
    }

    // Consistent traffic suggests provisioned
    if (analysis.utilizationRate > 0.7) {
      recommendations.push({
        mode: 'PROVISIONED',
        reason: 'Consistent traffic pattern',
        suggestedRCU: Math.ceil(analysis.p95),
        suggestedWCU: Math.ceil(analysis.p95),
        estimatedMonthlyCost: this.estimateProvisionedCost(analysis)
      });
    }

    // Auto-scaling for predictable patterns
    if (analysis.variance < 50 && analysis.utilizationRate > 0.5) {
      recommendations.push({
        mode: 'PROVISIONED_WITH_AUTO_SCALING',
        reason: 'Predictable traffic with some variation',
        minCapacity: Math.ceil(analysis.average * 0.8),
        maxCapacity: Math.ceil(analysis.peak * 1.2),
        targetUtilization: 70
      });
    }

    return recommendations;
  }

  calculateVariance(values) {
    const mean = values.reduce((sum, v) => sum + v, 0) / values.length;
    const squaredDiffs = values.map(v => Math.pow(v - mean, 2));
    return squaredDiffs.reduce((sum, v) => sum + v, 0) / values.length;
  }

  calculateUtilization(datapoints) {
    // Calculate how consistently capacity is used
    const nonZero = datapoints.filter(p => p.Average > 0).length;
    return nonZero / datapoints.length;
  }

  estimateOnDemandCost(analysis) {
    // Simplified cost calculation
    const monthlyReads = analysis.average * 730 * 3600; // hours to seconds
    const monthlyWrites = analysis.average * 730 * 3600 * 0.2; // assume 20% writes
    
    const readCost = (monthlyReads / 4000) * 0.25; // $0.25 per million RCU
    const writeCost = (monthlyWrites / 1000) * 1.25; // $1.25 per million WCU
    
    return readCost + writeCost;
  }

  estimateProvisionedCost(analysis) {
    const rcu = Math.ceil(analysis.p95);
    const wcu = Math.ceil(analysis.p95 * 0.2); // assume 20% writes
    
    const rcuCost = rcu * 0.00013 * 730; // $0.00013 per RCU per hour
    const wcuCost = wcu * 0.00065 * 730; // $0.00065 per WCU per hour
    
    return rcuCost + wcuCost;
  }
}

// The class above is the one of the design standards, unchanged. It is given clients of this server.
const assert = require("node:assert");
const AWS = require("aws-sdk");

const endpoint = process.env.AWS_ENDPOINT_URL;
const optimizer = new CostOptimizer(new AWS.CloudWatch({ endpoint }), new AWS.DynamoDB({ endpoint }));

(async () => {
  const advice = await optimizer.analyzeUsagePattern("Optimized", 7);
  assert.deepEqual(
    advice.map((entry) => [entry.mode, entry.suggestedRCU ?? entry.maxCapacity]),
    [["PROVISIONED", 3], ["PROVISIONED_WITH_AUTO_SCALING", 4]],
  );
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
