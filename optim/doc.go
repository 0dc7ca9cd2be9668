// Package optim is what moves parameters: optimisers, clipping and accumulation of gradients. Learning rates come from
// optim/schedule or from the caller.
//
//	opt := optim.NewAdamW(optim.AdamWConfig{WeightDecay: 0.01})
//	params := nn.Trained(model)
//	for batch := range batches {
//		loss := model.Loss(batch)
//		grads, err := loss.Backward()
//		...
//		_, err = (&optim.Clip{Norm: 1}).Apply(params, grads)
//		err = opt.Step(rate.Next(), params, grads)
//	}
//
// A step of all parameters is one program of the contract: it is compiled once for the shapes of the parameters and then
// queued with one message. It waits for nothing, and replaces values with Param.Set.
//
// What an optimiser remembers is kept by the names of parameters, in the type of the parameter, in f32 for those of 16 bits, whose
// arithmetic is in f32 too. State gives it, Restore takes it: a run that goes on from there is equal bit by bit.
package optim
